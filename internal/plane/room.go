package plane

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"slipway.dev/slipway/internal/fault"
)

// leastRoom is how many bytes a store that is over its limit gets beyond its size, so that objects can be deleted.
const leastRoom = 64 << 20

// nearlyFull tells of a size above four fifths of a quota.
func nearlyFull(size, quota int64) bool { return size > quota/5*4 }

// refusesWrites tells whether the store has reached its size limit. etcd refuses writes from then on, for good, until
// somebody has made room and said so.
func refusesWrites(s *etcdserver.EtcdServer) bool {
	for _, a := range s.Alarms() {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

// makeRoom has a store that is nearly full give back what it does not need, and be written again when it is smaller than
// quota then. It tells whether it is.
func makeRoom(ctx context.Context, s *etcdserver.EtcdServer, quota int64) (fits bool, err error) {
	full := refusesWrites(s)
	if !full && !nearlyFull(s.Backend().Size(), quota) {
		return true, nil
	}
	err = shrink(ctx, s)
	if s.Backend().Size() >= quota && err == nil {
		return false, nil
	}
	if err == nil && full {
		_, err = s.Alarm(ctx, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: uint64(s.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE,
		})
	}
	if err != nil && full {
		return false, fault.New(err, "cannot make room in the store", err.Error(), s.Cfg.DataDir,
			"free some space on its disk, as much as the store takes, then: slipway up")
	}
	// One that still takes writes is no reason not to start: upkeep tells of it.
	return true, nil
}

// shrink has a store forget its history and give back what is free.
func shrink(ctx context.Context, s *etcdserver.EtcdServer) error {
	_, err := s.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: s.KV().Rev(), Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return err
	}
	return s.Backend().Defrag()
}

// fullness says how full a store is and what to do about it, or nothing while it has room.
func fullness(s *etcdserver.EtcdServer, quota int64) string {
	switch {
	case refusesWrites(s):
		return fmt.Sprintf("the store has reached its size limit of %d MiB and refuses writes: slipway down and then slipway up make room; "+
			"then delete clusters that are not needed", quota>>20)
	case nearlyFull(s.Backend().Size(), quota):
		return fmt.Sprintf("the store has used most of its %d MiB: delete clusters that are not needed; "+
			"slipway down and then slipway up give back what is free", quota>>20)
	}
	return ""
}
