import { v7 as uuidv7 } from 'uuid'

const UUID_BYTES = 16
/** Random bytes for 256 locators at once. `uuid` would draw them one by one, which takes five times as long. */
const POOL_BYTES = 256 * UUID_BYTES

/** Makes locators: `NTF-` and a UUIDv7. Locators of the same millisecond keep their order. */
export function createLocators(): () => string {
  const pool = new Uint8Array(POOL_BYTES)
  let usedBytes = POOL_BYTES
  let seq = 0
  return () => {
    if (usedBytes === POOL_BYTES) {
      crypto.getRandomValues(pool)
      usedBytes = 0
    }
    const random = pool.subarray(usedBytes, usedBytes + UUID_BYTES)
    usedBytes += UUID_BYTES
    return `NTF-${uuidv7({ random, seq: seq++ })}`
  }
}
