import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const POM = join(import.meta.dirname, 'pom.xml')
const CACHE_DIR = join(import.meta.dirname, '../../../.cache/kafka')
const DOWNLOAD_TIMEOUT_MS = 180_000
const JAVA_VERSION_MIN = 17
const run = promisify(execFile)

/**
 * Directory with the broker's jars, fetched by Maven on first use. Its name is a hash of the pom, so that a changed pom fetches
 * anew, and it gets that name only when it is complete. Throws if Maven is missing or fails.
 */
export async function kafkaJars(log: (line: string) => void): Promise<string> {
  const hash = createHash('sha256').update(await readFile(POM))
  const jarsDir = join(CACHE_DIR, hash.digest('hex').slice(0, 16))
  if (existsSync(jarsDir)) return jarsDir
  log('kafka: fetching the jars of the broker with Maven (once)')
  await mkdir(CACHE_DIR, { recursive: true })
  const draftDir = await mkdtemp(join(CACHE_DIR, 'draft-'))
  const args = ['-B', '-q', '-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${draftDir}`]
  try {
    await run('mvn', args, { timeout: DOWNLOAD_TIMEOUT_MS, killSignal: 'SIGKILL' })
    await rename(draftDir, jarsDir)
  } catch (cause) {
    await rm(draftDir, { recursive: true, force: true })
    // Another process may have completed it meanwhile.
    if (existsSync(jarsDir)) return jarsDir
    const { code, stdout } = cause as { code?: string; stdout?: string }
    const reason = code === 'ENOENT' ? 'mvn is not installed' : `mvn failed: ${stdout?.trim() || cause}`
    throw new Error(`the jars of Kafka could not be fetched: ${reason}`, { cause })
  }
  return jarsDir
}

/** Throws if no Java here runs Kafka 4. */
export async function assertJava(): Promise<void> {
  const { stderr: version } = await run('java', ['-version']).catch((cause) => {
    throw new Error('java does not run: is a JDK installed?', { cause })
  })
  if (!(Number(/version "(\d+)/.exec(version)?.[1]) >= JAVA_VERSION_MIN))
    throw new Error(
      `Kafka 4 needs Java ${JAVA_VERSION_MIN} or later; this machine has: ${version.split('\n')[0]}`,
    )
}
