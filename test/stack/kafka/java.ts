import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const JAVA_VERSION_MIN = 17

/** @throws where there is no Java that runs Kafka 4 */
export async function assertJava(): Promise<void> {
  let version: string
  try {
    version = (await promisify(execFile)('java', ['-version'])).stderr
  } catch (cause) {
    throw new Error('java does not run: is a JDK installed?', { cause })
  }
  const major = Number(/version "(\d+)/.exec(version)?.[1])
  if (!(major >= JAVA_VERSION_MIN)) {
    throw new Error(
      `Kafka 4 needs Java ${JAVA_VERSION_MIN} or later, this machine has: ${version.split('\n')[0]}`,
    )
  }
}
