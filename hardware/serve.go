package hardware

import (
	"context"
	"fmt"
	"io"
)

// Hold is the whole of a process that holds VRAM: it takes all but leave bytes
// of the card, prints one line with what it holds in bytes ("held N left N"), and
// gives it back when in ends or ctx does.
func Hold(ctx context.Context, leave int64, in io.Reader, out io.Writer) error {
	return hold(ctx, leave, in, out, HoldVRAM)
}

func hold(ctx context.Context, leave int64, in io.Reader, out io.Writer, take func(int64) (int64, func(), error)) error {
	held, release, err := take(leave)
	if err != nil {
		return err
	}
	defer release()
	if _, err := fmt.Fprintf(out, "held %d left %d\n", held, leave); err != nil {
		return fmt.Errorf("say what is held: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, in)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}
