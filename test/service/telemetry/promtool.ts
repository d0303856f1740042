import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PROMTOOL } from '../../stack/promtool.ts'

/** Why tests that need it are skipped; false where it is installed. */
export const NO_PROMTOOL = PROMTOOL === null && 'promtool is not installed (Debian package prometheus)'

/** Runs it. Returns its report, which is empty if it finds nothing wrong. */
export async function promtool(args: string[], input = ''): Promise<string> {
  const running = promisify(execFile)(PROMTOOL ?? 'promtool', args)
  running.child.stdin?.end(input)
  return running.then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
