import { v7 as uuidv7 } from 'uuid'

const UUID_BYTES = 16
/** Drawn at once: a call of the generator for each locator costs more than all the rest of making it. */
const RANDOM_BYTES = 256 * UUID_BYTES
const PATTERN = 'NTF-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'
/** Where the digits of each byte stand. */
const PLACES = [...PATTERN.matchAll(/xx/g)].map(({ index }) => index)
const DIGITS = Buffer.from('0123456789abcdef')

/** Makes locators of log rows: `NTF-` and a UUIDv7, those of one millisecond in the order in which they were made. */
export function createLocators(): () => string {
  const random = new Uint8Array(RANDOM_BYTES)
  const uuid = new Uint8Array(UUID_BYTES)
  // Written digit by digit: a string that is put together of twenty parts costs twice as much.
  const text = Buffer.from(PATTERN)
  let usedBytes = RANDOM_BYTES
  let sequence = 0
  return () => {
    if (usedBytes === RANDOM_BYTES) {
      crypto.getRandomValues(random)
      usedBytes = 0
    }
    const own = random.subarray(usedBytes, usedBytes + UUID_BYTES)
    usedBytes += UUID_BYTES
    uuidv7({ random: own, seq: sequence++ }, uuid)
    uuid.forEach((byte, i) => {
      const place = PLACES[i] ?? 0
      text[place] = DIGITS[byte >> 4] ?? 0
      text[place + 1] = DIGITS[byte & 15] ?? 0
    })
    return text.toString('latin1')
  }
}
