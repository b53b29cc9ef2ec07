package heuristic

// candidate is one way to run one job, with its score.
type candidate struct {
	score    float64
	id       int64 // of the job
	job      int32 // index into State.Jobs
	strategy int32 // index into its Strategies
}

// before reports whether a is picked before b: the higher score, then the
// smaller ID.
func (a *candidate) before(b *candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.id < b.id
}

// candidateHeap is a binary heap of at most one candidate per job, the first
// to pick at index 0. (container/heap would box every element.)
type candidateHeap []candidate

func (h candidateHeap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// pop removes the first candidate.
func (h *candidateHeap) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.down(0)
}

// replace puts c in the place of the first candidate.
func (h candidateHeap) replace(c candidate) {
	h[0] = c
	h.down(0)
}

func (h candidateHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
