// Package admin defines the requests by which operators steer a running service,
// and a client for them: which models are in use, and who decides for a cluster.
//
// Subjects are <prefix>.v1.admin.{models,load,promote,rollback,discard,mode}. Where
// several services share a broker each of them gets a request and answers it.
//
//	models    {}                                              what there is and what is in use
//	load      {"name": "demo", "version": "latest"}           make a version ready, as candidate
//	          {"name": "demo", "promote": true}               … and put it in charge
//	promote   {"kind": "job-strategy"}                        put the candidate in charge
//	rollback  {"kind": "job-strategy"}                        put the one before in charge
//	discard   {"kind": "job-strategy"}                        forget the candidate
//	mode      {"cluster": "c1", "mode": "shadow"}             who decides for a cluster
//	          {"mode": "canary", "share": 0.1}                … for those without a mode of their own
//	          {"cluster": "c1", "unset": true}                … back to the default
//
// An empty request is one without fields; kind is job-strategy unless it is given.
// A refusal is a wire.Error, as everywhere.
package admin
