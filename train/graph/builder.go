package graph

import "gorgonia.org/gorgonia"

// builder chains operations of Gorgonia and keeps the first error.
type builder struct{ err error }

func (b *builder) keep(n *gorgonia.Node, err error) *gorgonia.Node {
	if b.err == nil {
		b.err = err
	}
	return n
}

func (b *builder) mul(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Mul(x, y))
}

func (b *builder) add(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Add(x, y))
}

// bias adds y, shape [1, n], to every row of x.
func (b *builder) bias(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.BroadcastAdd(x, y, nil, []byte{0}))
}

func (b *builder) relu(x *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Rectify(x))
}
