package standin

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"sync"
)

// Some text encoders carry their tokenizer in the file, and cannot be loaded
// without one. A stand-in has one of our own: letters, pairs and triples of
// letters. It cuts a text into about as many pieces as a real one does, which is
// what memory depends on.

// pieces makes a tokenizer once.
func pieces(make func() []byte) func() []byte { return sync.OnceValue(make) }

const letters = "abcdefghijklmnopqrstuvwxyz"

// ngrams are the pieces of a tokenizer with the place of a space marked by
// space: single printable characters first, then pairs and triples of letters.
func ngrams(space string) []string {
	list := []string{space}
	for c := byte('!'); c <= '~'; c++ {
		list = append(list, string(c))
	}
	for _, a := range letters {
		list = append(list, space+string(a))
		for _, b := range letters {
			list = append(list, string(a)+string(b), space+string(a)+string(b))
			for _, c := range letters {
				list = append(list, string(a)+string(b)+string(c))
			}
		}
	}
	return list
}

// Kinds of pieces in a SentencePiece model (sentencepiece_model.proto).
const (
	normalPiece  = 1
	unknownPiece = 2
	controlPiece = 3
)

func t5Pieces() []byte {
	return sentencePiece([]piece{{"<pad>", controlPiece}, {"</s>", controlPiece}, {"<unk>", unknownPiece}}, "", "</s>")
}

func gemmaPieces() []byte {
	return sentencePiece([]piece{{"<pad>", controlPiece}, {"<eos>", controlPiece}, {"<bos>", controlPiece}, {"<unk>", unknownPiece}}, "<bos>", "<eos>")
}

type piece struct {
	text string
	kind uint64
}

// sentencePiece writes a unigram model as its protocol buffer: field 1 are the
// pieces (1 text, 2 score, 3 kind), field 2 how it was trained, field 3 how texts
// are prepared (https://github.com/google/sentencepiece,
// src/sentencepiece_model.proto).
func sentencePiece(special []piece, bos, eos string) []byte {
	for _, n := range ngrams("▁") {
		special = append(special, piece{n, normalPiece})
	}
	var model []byte
	for _, p := range special {
		// The longest piece is the likeliest one.
		score := float32(len([]rune(p.text))) - 10
		one := appendBytes(nil, 1, []byte(p.text))
		one = append(one, 2<<3|5)
		bits := math.Float32bits(score)
		one = append(one, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
		one = appendNumber(one, 3, p.kind)
		model = appendBytes(model, 1, one)
	}
	trainer := appendNumber(nil, 3, 1) // unigram
	trainer = appendNumber(trainer, 4, uint64(len(special)))
	for i, p := range special {
		switch p.text {
		case "<unk>":
			trainer = appendNumber(trainer, 40, uint64(i))
		case bos:
			trainer = appendNumber(trainer, 41, uint64(i))
		case eos:
			trainer = appendNumber(trainer, 42, uint64(i))
		case "<pad>":
			trainer = appendNumber(trainer, 43, uint64(i))
		}
	}
	if bos != "" {
		trainer = appendBytes(trainer, 46, []byte(bos))
	}
	trainer = appendBytes(trainer, 47, []byte(eos))
	model = appendBytes(model, 2, trainer)
	return appendBytes(model, 3, appendBytes(nil, 1, []byte("identity")))
}

func appendNumber(b []byte, field, n uint64) []byte {
	return appendVarint(appendVarint(b, field<<3), n)
}

func appendBytes(b []byte, field uint64, data []byte) []byte {
	b = appendVarint(appendVarint(b, field<<3|2), uint64(len(data)))
	return append(b, data...)
}

func appendVarint(b []byte, n uint64) []byte {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// tekken is a tokenizer in the form of Mistral's tekken.json: all bytes, then
// pieces, and the special tokens of the template that Flux.2 puts a text into
// (comfy/text_encoders/flux.py).
var tekken = sync.OnceValue(func() []byte {
	type token struct {
		Rank  int    `json:"rank"`
		Bytes string `json:"token_bytes,omitempty"`
		Text  string `json:"token_str,omitempty"`
	}
	specials := []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
		"[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
		"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"}
	var file struct {
		Config struct {
			Size int `json:"default_vocab_size"`
		} `json:"config"`
		Vocab    []token `json:"vocab"`
		Specials []token `json:"special_tokens"`
	}
	file.Config.Size = 131072
	for i, s := range specials {
		file.Specials = append(file.Specials, token{Rank: i, Text: s})
	}
	add := func(b []byte) {
		file.Vocab = append(file.Vocab, token{Rank: len(file.Vocab), Bytes: base64.StdEncoding.EncodeToString(b)})
	}
	for i := range 256 {
		add([]byte{byte(i)})
	}
	for _, n := range ngrams(" ") {
		if len(n) > 1 {
			add([]byte(n))
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(err) // texts and numbers can be written
	}
	return data
})
