/**
 * Without --heap-growing-percent V8 collects only after 200 MB of garbage; with --max-old-space-size alone it collects all the
 * time. The limit leaves room for 16 MB of JSON, which can take 400 MB in memory.
 */
const V8_OPTIONS = ['--max-semi-space-size=16', '--heap-growing-percent=130', '--max-old-space-size=1024']
/** Each arena of malloc would add 8 MB. */
const MALLOC_ARENA_MAX = '1'

/**
 * Limits the memory of this process: adds options that neither the command line nor NODE_OPTIONS sets, and restarts Node in the
 * same process. Not possible on Windows and with Node before 24.
 */
export function boundMemory(): void {
  const { execArgv, env } = process
  const chosen = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)].map(nameOf)
  const added = V8_OPTIONS.filter((option) => !chosen.includes(nameOf(option)))
  // A new process would close the channel to the parent.
  if (added.length === 0 || process.execve === undefined || process.channel) return
  const args = [process.execPath, ...added, ...execArgv, ...process.argv.slice(1)]
  try {
    process.execve(process.execPath, args, {
      ...env,
      MALLOC_ARENA_MAX: env.MALLOC_ARENA_MAX ?? MALLOC_ARENA_MAX,
    })
  } catch {
    // Node's permission model forbids it: better without a limit than not at all.
  }
}

/** V8 accepts underscores for hyphens; NODE_OPTIONS may have quotes. */
function nameOf(option: string): string {
  return option
    .replace(/=.*/, '')
    .replaceAll('_', '-')
    .replace(/^["-]*/, '')
}
