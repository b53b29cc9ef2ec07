package serve

import (
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/live"
)

// Networks returns the models in use that came from a repository or bucket, as the
// Open Inference protocol names them: of each name the active version first. It
// returns nil where models come from neither.
func (s *Server) Networks() []inference.Served {
	if !s.whole.Load() || s.handler.guard.set == nil {
		return nil
	}
	var list []inference.Served
	v := s.handler.guard.set.View()
	for _, m := range []*live.Model{
		v.JobStrategy.Active, v.Configuration.Active, v.JobStrategy.Candidate, v.Configuration.Candidate,
		v.JobStrategy.Previous, v.Configuration.Previous,
	} {
		if m != nil {
			list = append(list, inference.Served{Name: m.ID.Name, Version: m.ID.Version.String(), Model: m.Network})
		}
	}
	return list
}
