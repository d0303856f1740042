import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))
const CACHE_DIR = fileURLToPath(new URL('../../../.cache/kafka/', import.meta.url))
const DOWNLOAD_TIMEOUT_MS = 180_000

/**
 * Directory with the broker's jars, fetched by Maven on first use. Its name is a hash of the pom, so that a
 * changed pom fetches anew, and it gets that name only when it is complete.
 * @throws when Maven is missing or fails
 */
export async function kafkaJars(
  log: (line: string) => void,
  { pom = POM, cacheDir = CACHE_DIR }: { pom?: string; cacheDir?: string } = {},
): Promise<string> {
  const hash = createHash('sha256').update(await readFile(pom))
  const jarsDir = join(cacheDir, hash.digest('hex').slice(0, 16))
  if (await exists(jarsDir)) return jarsDir
  log('kafka: fetching the jars of the broker with Maven (once)')
  await mkdir(cacheDir, { recursive: true })
  const draftDir = await mkdtemp(join(cacheDir, 'draft-'))
  try {
    await copyDependencies(pom, draftDir)
    await rename(draftDir, jarsDir)
  } catch (error) {
    await rm(draftDir, { recursive: true, force: true })
    // Another process may have completed it meanwhile.
    if (!(await exists(jarsDir))) throw error
  }
  return jarsDir
}

async function copyDependencies(pom: string, outputDir: string): Promise<void> {
  const args = ['-B', '-q', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${outputDir}`]
  try {
    await promisify(execFile)('mvn', args, {
      timeout: DOWNLOAD_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
  } catch (error) {
    const { code, stdout } = error as {
      code?: string | number
      stdout?: string
    }
    const reason = code === 'ENOENT' ? 'mvn is not installed' : `mvn failed: ${stdout?.trim() || error}`
    throw new Error(`the jars of Kafka could not be fetched: ${reason}`, {
      cause: error,
    })
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
