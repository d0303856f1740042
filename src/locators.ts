import { v7 as uuidv7 } from 'uuid'

const UUID_BYTES = 16
/** Drawn at once: a call of the generator for each locator costs more than all the rest of making it. */
const RANDOM_BYTES = 256 * UUID_BYTES

/** Makes locators of log rows: `NTF-` and a UUIDv7, those of one millisecond in the order in which they were made. */
export function createLocators(): () => string {
  const random = new Uint8Array(RANDOM_BYTES)
  let usedBytes = RANDOM_BYTES
  let sequence = 0
  return () => {
    if (usedBytes === RANDOM_BYTES) {
      crypto.getRandomValues(random)
      usedBytes = 0
    }
    const own = random.subarray(usedBytes, usedBytes + UUID_BYTES)
    usedBytes += UUID_BYTES
    return `NTF-${uuidv7({ random: own, seq: sequence++ })}`
  }
}
