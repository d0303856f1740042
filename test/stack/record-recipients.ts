// Preloaded into the replicas: their log then says whom each message is for. The service itself writes an address nowhere.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'

const CLIENTS = new URL('../../src/service/app/clients.ts', import.meta.url).href
const RECORDING_CLIENTS = new URL('./recording-clients.ts', import.meta.url).href

// The service is put together with the senders that record, wherever it is loaded.
registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context)
    const isOurs = resolved.url === CLIENTS && context.parentURL !== RECORDING_CLIENTS
    return isOurs ? { ...resolved, url: RECORDING_CLIENTS } : resolved
  },
})
// After the hook: the module loads the service's.
const { recordTo } = await import('./recording-clients.ts')

export { recordTo }

recordTo((channel, messages) => {
  const time = new Date().toISOString()
  const lines = messages.map(({ idempotencyKey, to }) =>
    JSON.stringify({ level: 'trace', time, msg: 'message handed over', channel, idempotencyKey, to }),
  )
  for (const line of lines) writeLine(line)
})

/** Waits while the pipe is full: its reader may be slower than the service. */
function writeLine(line: string): void {
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    writeLine(line)
  }
}
