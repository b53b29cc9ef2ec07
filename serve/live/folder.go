package live

import (
	"context"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Folder is a repository on the service's own disk as a Source and a Keeper.
type Folder struct{ *repository.Repository }

// Resolve implements Source.
func (f Folder) Resolve(_ context.Context, name, policy string) (repository.ID, error) {
	return f.Repository.Resolve(name, policy)
}

// Fetch implements Source.
func (f Folder) Fetch(_ context.Context, id repository.ID) (models.Files, error) {
	return f.Repository.Files(id)
}

// List implements Source.
func (f Folder) List(context.Context) ([]repository.Entry, error) { return f.Repository.List() }
