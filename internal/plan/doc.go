// Package plan is the functional core: every decision of Slipway that matters, as a pure function from plain facts to an
// action and its reason.
//
// # How to use it
//
// A controller observes the world once, translates what it saw into a facts struct, asks the plan, performs the one step
// that it names, and reports. Nothing in here holds a client, a context, a logger, a clock or a source of randomness: the
// time comes in as a value, and so do random suffixes. The same facts always give the same answer, so a controller that
// was killed half-way asks again and goes on.
//
//	facts  := observe(...)                     // the shell reads
//	action := plan.ControlPlane(facts)         // the core decides
//	err     = act(action)                      // the shell writes
//
// Three rules hold everywhere:
//
//   - A fact that could not be read is Unknown, the zero value of Tri. Unknown never lets anything be destroyed.
//   - A plan is level-based. What was asked for and has not happened yet is counted as if it had, so planning twice
//     before anything moves never asks for more than planning once.
//   - Every answer carries its reason, in a sentence fit for a condition: stable, sorted, no times, at most five names.
//
// # Rolling a MachineDeployment (Rollout)
//
// With R replicas, S the surge and U the unavailability (S rounded up, U rounded down, never both zero):
//
//	    +----------------------------------------------------------+
//	    |                                                          |
//	    v                                                          |
//	grow current ----------> shrink old: what is not ---------> shrink old: available ---> nothing moves
//	(total <= R+S)           available and first to go          (available >= R-U)              |
//	    ^                                                                                       | all settled, current
//	    |                                                                                       | whole, old not available
//	    |                                                                                       v
//	    +------------------------------------------------------------------------- take one (deadlock)
//
// The total counts Machines being deleted; the available ones are counted in the worst case, as if every deletion already
// asked for would hit an available Machine. If preflight checks would hold the current set, old Machines are not given
// up: nothing would replace them.
//
// # The control plane (ControlPlane, LeaveEtcd)
//
//	no Machine --Init--> first one up --ScaleUp--> ... --ScaleUp--> R Machines, up to date (None)
//	                          ^                                       |                ^
//	                          |                        spec changes   |                | none outdated
//	                          |                                       v                |
//	                          +------ Wait <------ maxSurge 1: ScaleUp, ScaleDown -----+
//	                                  ^   |        maxSurge 0: ScaleDown, ScaleUp      |
//	                                  |   |                                            |
//	                                  +---+  a Machine is going, or one other than     |
//	                                         the victim is not healthy, or the         |
//	                                         victim's vote is needed  <----------------+
//
// One Machine at a time comes or goes. The victim is chosen before health is looked at, so that a half-removed Machine
// never stands in the way of its own removal. A Machine that goes leaves etcd while its infrastructure still runs:
//
//	WaitHooks --> MoveLeader --> RemoveMember --> Done
//	    |             |               |             ^
//	    +-------------+---------------+-------------+   no member, last Machine, external etcd, all is being deleted
//	                  |
//	                  v
//	               Refused   members unknown, quorum would be lost, somebody is joining
//
// Quorum has one owner: MayRemoveMember. A member may leave when the voters can agree on it now, and a majority of those
// that stay is healthy. Unknown health is not healthy.
//
// # Going away (ClusterDeletion, MachineDeletion)
//
//	Cluster:  hook --> workers --> control plane --> infrastructure --> finalizer
//
//	Machine:  find Node --> pre-drain hooks --> drain --> volumes --> pre-terminate hooks
//	              --> infrastructure --> bootstrap --> Node --> finalizer
//
// Each arrow is taken when nothing is left to wait for, or the step's time is up. The steps that touch the Node are left
// out when nobody needs it any more (DeleteNodeAllowed).
package plan
