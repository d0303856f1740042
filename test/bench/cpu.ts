import { readdir, readFile } from 'node:fs/promises'

// Every figure is NaN if it cannot be read, as without /proc.

/** Linux counts in hundredths of a second, on every architecture (USER_HZ). */
const TICK_MS = 10

/** CPU time of a process in ms, user and system. */
export async function cpuMsOf(pid: number): Promise<number> {
  return (await statOf(pid)).ownMs
}

/** CPU time in ms of a process and all its children, including ended ones. */
export async function cpuMsOfFamily(pid: number): Promise<number> {
  const { ownMs, endedChildrenMs } = await statOf(pid)
  if (Number.isNaN(ownMs)) return ownMs
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const children = (await Promise.all(pids.map(statOf))).filter(({ parentPid }) => parentPid === pid)
  return children.reduce((sum, child) => sum + child.ownMs, ownMs + endedChildrenMs)
}

/** CPU time in ms of all processes of the machine. */
export async function cpuMsOfMachine(): Promise<number> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '')
  // user nice system idle iowait irq softirq
  const [user, nice, system, , , irq, softirq] = numbersIn(text.split('\n')[0]).slice(1)
  return (
    [user, nice, system, irq, softirq].reduce<number>((sum, ticks = Number.NaN) => sum + ticks, 0) * TICK_MS
  )
}

/** Peak memory of a process in MB. */
export async function peakMemoryMbOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN) / 1024
}

export async function parentPidOf(pid: number): Promise<number> {
  return (await statOf(pid)).parentPid
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name in brackets may contain any character, so fields are counted from its end.
  const fields = numbersIn(text.slice(text.lastIndexOf(')') + 2))
  const [user = Number.NaN, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15)
  return {
    parentPid: fields[1] ?? Number.NaN,
    ownMs: (user + system) * TICK_MS,
    endedChildrenMs: (childrenUser + childrenSystem) * TICK_MS,
  }
}

function numbersIn(line = ''): number[] {
  return line.trim().split(/\s+/).map(Number)
}
