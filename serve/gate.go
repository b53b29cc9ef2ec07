package serve

import "sync"

// gate starts goroutines until it is shut, and waits for them. Unlike a bare
// WaitGroup it may be shut while others still try to start some.
type gate struct {
	mu   sync.Mutex
	shut bool
	work sync.WaitGroup
}

// run starts f in a goroutine, or reports false once the gate is shut.
func (g *gate) run(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.work.Go(f)
	return true
}

// close shuts the gate and waits for what runs.
func (g *gate) close() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.work.Wait()
}
