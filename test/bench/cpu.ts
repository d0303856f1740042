import { readdir, readFile } from 'node:fs/promises'

/** Linux counts in hundredths of a second, on every architecture (USER_HZ). */
const TICK_MS = 10

/** CPU time in ms, user and system, of a process; null without /proc. */
export async function cpuMsOf(pid: number): Promise<number | null> {
  const stat = await statOf(pid)
  return stat === null ? null : stat.ownMs
}

/** The same for a process and all its children, including ended ones. */
export async function cpuMsOfFamily(pid: number): Promise<number | null> {
  const parent = await statOf(pid)
  if (parent === null) return null
  const all = await Promise.all(
    (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map((name) => statOf(Number(name))),
  )
  const children = all.filter((stat) => stat?.parentPid === pid)
  return children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), parent.ownMs + parent.endedChildrenMs)
}

/** CPU time in ms of all processes of the machine; null without /proc. */
export async function cpuMsOfMachine(): Promise<number | null> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => null)
  if (text === null) return null
  // user nice system idle iowait irq softirq: all except idle and iowait.
  const ticks = text.split('\n')[0]?.trim().split(/\s+/).slice(1, 8).map(Number) ?? []
  return ticks.reduce((sum, count, i) => (i === 3 || i === 4 ? sum : sum + count), 0) * TICK_MS
}

/** Peak memory of a process in MB; null without /proc. */
export async function peakMemoryMbOf(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kB = /^VmHWM:\s+(\d+) kB/m.exec(text)?.[1]
  return kB === undefined ? null : Number(kB) / 1024
}

export async function parentPidOf(pid: number): Promise<number | null> {
  return (await statOf(pid))?.parentPid ?? null
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name in brackets may contain any character, so fields are counted after its end.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [, parentPid = 0] = fields
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15)
  return {
    parentPid,
    ownMs: (user + system) * TICK_MS,
    endedChildrenMs: (childrenUser + childrenSystem) * TICK_MS,
  }
}
