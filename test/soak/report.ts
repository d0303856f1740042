/** Progress, to standard error. */
export function say(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

/** Prints what holds and what does not; the process then exits 1 unless all does. */
export function result(findings: Readonly<Record<string, boolean>>): void {
  for (const [finding, holds] of Object.entries(findings)) {
    console.log(`${holds ? 'ok    ' : 'not ok'} ${finding}`)
    if (!holds) process.exitCode = 1
  }
}
