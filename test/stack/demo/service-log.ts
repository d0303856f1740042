import { open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_INTERVAL_MS = 200
const QUIET_LEVELS = new Set(['trace', 'debug', 'info'])

/** Reads the service's log as it grows, and hands on what an onlooker must know. Never resolves. */
export async function watchLog(file: string, onTrouble: (line: string) => void): Promise<never> {
  const handle = await open(file)
  const decoder = new StringDecoder('utf8')
  const buffer = Buffer.alloc(64 * 1024)
  let rest = ''
  for (;;) {
    const { bytesRead } = await handle.read(buffer)
    if (bytesRead === 0) await sleep(POLL_INTERVAL_MS)
    const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const trouble = troubleIn(line)
      if (trouble !== null) onTrouble(trouble)
    }
  }
}

/** A warning or an error, in one line; what is no log line at all comes from the platform, and is shown too. */
function troubleIn(line: string): string | null {
  if (line.trim() === '') return null
  try {
    const { level, msg, reason, err } = JSON.parse(line)
    if (QUIET_LEVELS.has(level)) return null
    const why = reason ?? err?.message
    return `${level}: ${msg}${why ? ` (${why})` : ''}`
  } catch {
    return line
  }
}
