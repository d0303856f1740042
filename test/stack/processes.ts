import { spawnSync } from 'node:child_process'

/** Whether a process runs; one that has ended and was not reaped by its parent yet does not. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], {
    encoding: 'utf8',
  })
  return stdout.trim() !== '' && !stdout.startsWith('Z')
}

export function children(pid: number): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], {
    encoding: 'utf8',
  })
  return stdout.split('\n').filter(Boolean).map(Number)
}

/** Ids of all descendants, children first. */
export function descendants(pid: number): number[] {
  const own = children(pid)
  return [...own, ...own.flatMap(descendants)]
}
