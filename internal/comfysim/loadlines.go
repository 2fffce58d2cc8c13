package comfysim

import "fmt"

// Forms of the lines that tell how much of a model was loaded.
const (
	loadLineOld = iota // 0.3.64: bare numbers
	loadLineNew        // since 0.3.76
)

func mb(n int64) float64 { return float64(n) / float64(mib) }

// logLoaded tells what an estimate-based load did. budget < 0 means unlimited.
func (m *memory) logLoaded(w *weights, budget int64, patches int) {
	full := w.loaded >= w.bytes
	if m.cfg.ver.loadLine == loadLineOld {
		usable := "9.5367431640625e+25"
		if budget >= 0 {
			usable = pyFloat(mb(budget))
		}
		if full {
			m.log.info("loaded completely %s %s True", usable, pyFloat(mb(w.loaded)))
		} else {
			m.log.info("loaded partially %s %s %d", usable, pyFloat(mb(w.loaded)), patches)
		}
		return
	}
	usable := ""
	if budget >= 0 {
		usable = fmt.Sprintf("%.2f MB usable,", mb(budget))
	}
	if full {
		m.log.info("loaded completely; %s %.2f MB loaded, full load: True", usable, mb(w.loaded))
		return
	}
	m.log.info("loaded partially; %s %.2f MB loaded, %.2f MB offloaded, %.2f MB buffer reserved, lowvram patches: %d",
		usable, mb(w.loaded), mb(w.bytes-w.loaded), mb(w.buffer()), patches)
}

func (m *memory) logUnloadedPartly(w *weights, freed int64) {
	if m.cfg.ver.loadLine != loadLineOld {
		m.log.info("Unloaded partially: %.2f MB freed, %.2f MB remains loaded, %.2f MB buffer reserved, lowvram patches: 0",
			mb(freed), mb(w.loaded), mb(w.buffer()))
	}
}

func (m *memory) logStaged(w *weights, patches int) {
	force := ""
	if m.cfg.ver.forceNote {
		force = fmt.Sprintf(" Force pre-loaded %d weights: %d KB.", w.norms, w.normLen/kib)
	}
	m.log.info("Model %s prepared for dynamic VRAM loading. %dMB Staged. %d patches attached.%s",
		w.class, w.staged(m.cfg.ver.forceNote)/mib, patches, force)
}

// logAimdo prints the tables that aimdo's C code prints at DEBUG: who holds the
// card, model by model.
func (m *memory) logAimdo() {
	if !m.cfg.dynamic {
		return
	}
	s := m.card.stats()
	var resident int64
	m.log.debugAimdo("control.c:174:DEBUG:--- VRAM Stats ---")
	for _, w := range m.list {
		resident += w.loaded
	}
	m.log.debugAimdo("control.c:177:DEBUG:  Aimdo Recorded Usage: %8d MB", (resident+s.torch)/mib)
	m.log.debugAimdo("control.c:178:DEBUG:  Cuda: %8d MB / %7d MB Free", s.free/mib, s.total/mib)
	m.log.debugAimdo("model-vbar.c:57:DEBUG:---------------- VBAR Usage ---------------")
	for i := len(m.list) - 1; i >= 0; i-- {
		m.log.debugAimdo("model-vbar.c:86:DEBUG:VBAR 0x7f0f%08x: Actual Resident VRAM = %d MB",
			uint32(m.list[i].bytes), m.list[i].loaded/mib)
	}
	m.log.debugAimdo("model-vbar.c:90:DEBUG:Total VRAM for VBARs: %d MB", resident/mib)
}
