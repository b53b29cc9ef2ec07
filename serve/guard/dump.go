package guard

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// maxDumps bounds the files that a guard keeps; older ones are replaced.
const maxDumps = 16

// dump writes the published state that the linear program failed on to a file, in the
// background: a program is a function of its state, so that is all it takes to find
// the fault. A write that fails is logged and nothing more.
func (g *Guard) dump(s *wire.State, reason wire.Reason, fault error) {
	if g.cfg.DumpDir == "" {
		return
	}
	n := (g.dumps.Add(1) - 1) % maxDumps
	path := filepath.Join(g.cfg.DumpDir, fmt.Sprintf("lp-%02d.json", n))
	started := g.dumpers.start(func() {
		data, err := wire.Encode(s)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			g.cfg.Logger.Warn("guard: state not dumped", "file", path, "error", err)
			return
		}
		g.cfg.Logger.Error("guard: the linear program failed on this state", "file", path, "cluster", s.Cluster, "seq", s.Seq, "reason", string(reason), "error", fault)
	})
	if !started {
		g.cfg.Logger.Warn("guard: state not dumped", "file", path, "error", "others are being written")
	}
}
