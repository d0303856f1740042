/** Full load takes some 300 MB, and one event of 16 MB up to 400 MB more. */
const LIMIT_MIB_MIN = 768
const MIB = 1024 * 1024

/** @param limitBytes limit of the container (cgroup) as read by Node.js; 0, or more than all memory, means no limit */
export function judgeMemory(limitBytes: number): string | null {
  const mib = Math.floor(limitBytes / MIB)
  if (limitBytes === 0 || mib >= LIMIT_MIB_MIN) return null
  return `memory is limited to ${mib} MiB: the container may be killed under load or by large events. Allow ${LIMIT_MIB_MIN} MiB or more`
}
