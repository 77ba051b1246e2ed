package v1beta2

// PartitionType names a kind of partition by a well-known word; a GPT type GUID is allowed in its place.
type PartitionType string

const (
	// PartitionTypeLinux is a Linux data partition.
	PartitionTypeLinux PartitionType = "Linux"

	// PartitionTypeLinuxSwap is a Linux swap partition.
	PartitionTypeLinuxSwap PartitionType = "LinuxSwap"

	// PartitionTypeLinuxRAID is a member of a Linux software RAID.
	PartitionTypeLinuxRAID PartitionType = "LinuxRAID"

	// PartitionTypeLVM is a physical volume of the logical volume manager.
	PartitionTypeLVM PartitionType = "LVM"

	// PartitionTypeFat32 is a FAT32 partition.
	PartitionTypeFat32 PartitionType = "Fat32"

	// PartitionTypeNTFS is an NTFS partition.
	PartitionTypeNTFS PartitionType = "NTFS"

	// PartitionTypeLinuxExtended is an extended partition for Linux.
	PartitionTypeLinuxExtended PartitionType = "LinuxExtended"
)

// DiskSetup partitions disks and makes filesystems on them.
// +kubebuilder:validation:MinProperties=1
type DiskSetup struct {
	// partitions says how disks are divided. When unset, partition tables stay as they are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Partitions []Partition `json:"partitions,omitempty"`

	// filesystems says which filesystems are made. When unset, none are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Filesystems []Filesystem `json:"filesystems,omitempty"`
}

// Partition says how one disk is divided: either as a whole (layout) or in parts (diskLayout).
// +kubebuilder:validation:XValidation:rule="[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1",message="set layout to use the disk as a whole or diskLayout to divide it, and not both"
type Partition struct {
	// device is the disk: for example "/dev/sdb".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Device string `json:"device,omitempty"`

	// layout true makes one partition that spans the disk; false makes only the partition table.
	// Exactly one of layout and diskLayout must be set.
	// +optional
	Layout *bool `json:"layout,omitempty"`

	// diskLayout lists the partitions in order, each with its share of the disk; the shares add up to 100 at most.
	// Exactly one of layout and diskLayout must be set.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	DiskLayout []PartitionSpec `json:"diskLayout,omitempty"`

	// overwrite true skips the check for existing partitions or filesystems, and destroys what is there.
	// When unset, a disk that is in use is left alone.
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`

	// tableType is the kind of partition table: mbr or gpt. When unset, the first-boot agent decides (cloud-init
	// takes mbr).
	// +optional
	// +kubebuilder:validation:Enum=mbr;gpt
	TableType string `json:"tableType,omitempty"`
}

// PartitionSpec is one partition of a disk.
type PartitionSpec struct {
	// percentage is the share of the disk, from 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percentage int32 `json:"percentage,omitempty"`

	// partitionType is the kind of partition: Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended, or the
	// GUID of a GPT partition type. When unset, it is Linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')",message="use Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended or the GUID of a GPT partition type"
	PartitionType PartitionType `json:"partitionType,omitempty"`
}

// Filesystem is one filesystem to be made.
type Filesystem struct {
	// device is the disk or partition: for example "/dev/sdb" or, with partition, the disk's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Device string `json:"device,omitempty"`

	// filesystem is the type: for example ext4 or xfs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Filesystem string `json:"filesystem,omitempty"`

	// label is the filesystem's label. When unset, it has none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Label string `json:"label,omitempty"`

	// partition chooses the partition on device: auto, any, none or a number. When unset, device is used as it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Partition string `json:"partition,omitempty"`

	// overwrite true makes the filesystem even where one exists, and destroys it. When unset, an existing one stays.
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`

	// replaceFS names a filesystem type that may be replaced when partition is auto or any; for Microsoft Azure's
	// temporary disks it is NTFS. When unset, none is replaced.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ReplaceFS string `json:"replaceFS,omitempty"`

	// extraOpts are further options for the mkfs command, one argument each. When unset, there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	ExtraOpts []string `json:"extraOpts,omitempty"`
}
