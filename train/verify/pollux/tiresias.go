package pollux

import "slices"

// demotion is the service, GPUs × seconds, after which Tiresias moves a job to
// its second queue.
const demotion = 16 * 3600

// tiresias is the policy with its queues of running and waiting jobs.
type tiresias struct {
	queues [2][]*jobState
}

// allocate decides at time now which of the active jobs run where. nodes maps a
// job that runs to the node of each of its GPUs; sizes are the GPUs of the nodes.
func (p *tiresias) allocate(now int, active []*jobState, nodes map[*jobState][]int, sizes []int) map[*jobState][]int {
	for q := range p.queues {
		p.queues[q] = slices.DeleteFunc(p.queues[q], func(j *jobState) bool { return j.finish != unfinished })
	}
	for _, j := range active {
		p.account(j, now)
	}
	next := p.grant(nodes, sizes)
	p.fill(next, sizes)
	return next
}

// account takes in a new job and counts the time of one that ran.
func (p *tiresias) account(j *jobState, now int) {
	if !slices.Contains(p.queues[0], j) && !slices.Contains(p.queues[1], j) {
		p.queues[0] = append(p.queues[0], j)
		j.seen = now
		return
	}
	if j.runs {
		j.ran += now - j.seen
		if i := slices.Index(p.queues[0], j); i >= 0 && j.ran*j.GPUs >= demotion {
			p.queues[0] = slices.Delete(p.queues[0], i, i+1)
			p.queues[1] = append(p.queues[1], j)
		}
	}
	j.seen = now
}

// grant decides who runs and returns the nodes of those who ran before.
func (p *tiresias) grant(nodes map[*jobState][]int, sizes []int) map[*jobState][]int {
	left := 0
	for _, n := range sizes {
		left += n
	}
	kept := make(map[*jobState][]int)
	for _, queue := range p.queues {
		for _, j := range queue {
			if j.runs = j.GPUs <= left; !j.runs {
				continue
			}
			left -= j.GPUs
			if held, ok := nodes[j]; ok {
				kept[j] = held
			}
		}
	}
	return kept
}

// fill gives those who run and have no GPUs what they need from the emptiest
// nodes.
func (p *tiresias) fill(nodes map[*jobState][]int, sizes []int) {
	free := slices.Clone(sizes)
	for _, held := range nodes { // a sum: the order does not matter
		for _, n := range held {
			free[n]--
		}
	}
	for _, queue := range p.queues {
		for _, j := range queue {
			if _, ok := nodes[j]; ok || !j.runs {
				continue
			}
			var held []int
			for len(held) < j.GPUs {
				emptiest := slices.Index(free, slices.Max(free))
				take := min(free[emptiest], j.GPUs-len(held))
				held = append(held, slices.Repeat([]int{emptiest}, take)...)
				free[emptiest] -= take
			}
			nodes[j] = held
		}
	}
}
