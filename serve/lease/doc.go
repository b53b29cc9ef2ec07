// Package lease lets several services agree, through a NATS key-value bucket,
// which of them publishes for which cluster.
//
// # Protocol
//
// A key of the bucket is a cluster's id, its value the id of the service that
// holds the lease and a random name of its process. The bucket drops a value once it is older than the TTL. A
// service acquires a lease by creating the key, which fails while it is there,
// and renews it by updating the revision that it wrote, which fails once anybody
// else wrote. A service that stops deletes the keys it holds, so that another
// takes over at once. The others hear puts on the bucket's subjects without a
// consumer, and try to create the key when they heard none for a TTL.
//
// # Clocks
//
// A lease counts from before its last successful write was sent to a TTL less a
// margin of an eighth later, on the holder's monotonic clock: before the broker
// drops it, whatever the network did. The monotonic clock runs on while a process
// is stopped, so a holder that was stopped knows at once that its lease is over.
// Clocks of different machines are never compared.
//
// # Limits
//
// A lease keeps two services from deciding at once; it cannot stop a message that
// is on its way. What is published must therefore also be fenced by the stream
// that stores it. Renewals cost three writes per TTL and cluster, in memory: 1,000
// clusters at 2 s are 1,500 writes a second, 5 % of a core with the broker. A machine that is suspended may stop
// the monotonic clock too; then only the fence holds.
package lease
