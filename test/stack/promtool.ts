// node test/stack/promtool.ts
// Unpacks promtool of the Debian package prometheus, once, where apt-get can download it and promtool is not installed.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../../.cache')
const UNPACKED = join(CACHE, 'promtool')
const isInstalled = spawnSync('promtool', ['--version']).status === 0

/** Null where there is none. */
export const PROMTOOL = isInstalled ? 'promtool' : existsSync(UNPACKED) ? UNPACKED : null

if (import.meta.main && PROMTOOL === null && spawnSync('apt-get', ['--version']).status === 0) {
  await mkdir(CACHE, { recursive: true })
  const cwd = await mkdtemp(`${UNPACKED}-`)
  try {
    const options = ['-o', 'Acquire::http::Timeout=20', '-o', 'Acquire::Retries=2']
    execFileSync('apt-get', [...options, 'download', 'prometheus'], { cwd, stdio: 'pipe' })
    const [archive = ''] = await readdir(cwd)
    execFileSync('dpkg-deb', ['--extract', archive, 'unpacked'], { cwd })
    await rename(join(cwd, 'unpacked/usr/bin/promtool'), UNPACKED)
  } catch (error) {
    console.error(`promtool was not fetched, and tests that need it are skipped: ${(error as Error).message}`)
  } finally {
    await rm(cwd, { recursive: true })
  }
}
