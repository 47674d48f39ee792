package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// sharedFilesystems are those on which SQLite's shared memory does not hold: other machines may have the file open, or
// a mapping is not one memory for all.
var sharedFilesystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.SMB2_SUPER_MAGIC:  "smb",
	unix.FUSE_SUPER_MAGIC:  "fuse",
	unix.V9FS_MAGIC:        "9p",
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.NCP_SUPER_MAGIC:   "ncp",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	0x0BD00BD0:             "lustre",
	0x47504653:             "gpfs",
	0x19830326:             "fhgfs",
	0x7C7C6673:             "prlfs",
	0x01161970:             "gfs2",
	0x786F4256:             "vboxsf",
}

// sharedFilesystem names the network or shared file system that a folder is on, or is empty.
func sharedFilesystem(folder string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return "", fmt.Errorf("file system of %s: %w", folder, err)
	}
	return sharedFilesystems[uint32(stat.Type)], nil
}

// FreeBytes is how much the file system of a folder has left for this user.
func FreeBytes(folder string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", folder, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}
