package wire

// Admin is the prefix of the endpoints for operators: package admin.
func (s Subjects) Admin() string { return s.root + "admin" }
