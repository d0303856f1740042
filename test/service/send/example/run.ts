import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { EXECUTABLE_ENV } from '../../../stack/executable.ts'
import { emailOf } from '../../../stack/policy-administration.ts'
import { createRandom } from '../../../stack/random.ts'
import { startService } from '../../../stack/service.ts'
import { until } from '../../../stack/until.ts'
import { anEvent, createWorld } from '../../../stack/world.ts'
import { startSink } from './sink.ts'

const SERVICE = fileURLToPath(new URL('service.ts', import.meta.url))
const RELAY = fileURLToPath(new URL('relay.ts', import.meta.url))

interface Plan {
  readonly mailCount: number
  /** Every third kill ends the service, the others the relay. */
  readonly killCount: number
  readonly seed: number
  readonly say: (line: string) => void
}

export interface Outcome {
  /** Mails that were neither taken nor refused by the mail server. */
  readonly lost: number
  /** Rows that are not SENT. */
  readonly unsent: number
  /** Recipients that were written to under more than one Message-ID. */
  readonly underOtherKeys: number
  /** Mails that were taken once more, under their Message-ID. */
  readonly repeated: number
  readonly refused: number
  readonly hung: number
  /** Kills of a process that had work. */
  readonly kills: { readonly service: number; readonly relay: number }
}

/** Publishes events in waves to a service whose emails go through the queue, and kills service and relay meanwhile. */
export async function runTransport({ mailCount, killCount, seed, say }: Plan): Promise<Outcome> {
  const random = createRandom(seed)
  const world = await createWorld({ partitionCount: 1 })
  const sink = await startSink(seed, 40)
  const env = { ...world.env, LOG_LEVEL: 'info', SMTP_PORT: String(sink.port) }
  const startRelay = () => startProcess(RELAY, env)
  let relay = await startRelay()
  let service = await startService(env, { main: SERVICE })
  const kills = { service: 0, relay: 0 }
  const recipients = Array.from({ length: mailCount }, (_, i) => `party-${i}`)
  try {
    const waveLength = Math.ceil(mailCount / (killCount + 1))
    for (let start = 0; start < mailCount; start += waveLength) {
      const wave = recipients.slice(start, start + waveLength)
      const isService = (kills.service + kills.relay) % 3 === 2
      // A service that was killed before takes seconds to get its partition back.
      if (isService) await world.caughtUp()
      await world.publish(
        wave.map((partyLocator) => ({ value: anEvent({ eventId: partyLocator, partyLocator }).value })),
      )
      if (start + waveLength >= mailCount) break
      if (isService) {
        // It dispatches a wave within some 100 ms.
        await sleep(random.below(100))
        kills.service++
        service.kill('SIGKILL')
        await service.exited
        service = await startService(env, { main: SERVICE })
      } else {
        const before = sink.mails.size
        await until(() => sink.mails.size > before, { what: 'mails to be delivered', intervalMs: 5 })
        await sleep(random.below(300))
        kills.relay++
        await relay.kill()
        relay = await startRelay()
      }
      say(
        `killed the service ${kills.service} times, the relay ${kills.relay} times; ${sink.mails.size} mails taken`,
      )
    }
    await world.caughtUp()
    const settled = () =>
      recipients.every((party) => sink.mails.has(emailOf(party)) || sink.refused.has(emailOf(party)))
    await until(settled, { what: 'all mails to be taken or refused', timeoutMs: 180_000 }).catch((error) =>
      say(String(error)),
    )
    const queueIsEmpty = async () => {
      const [row] = await world.sql(`SELECT count(*)::int FROM pgboss.job WHERE state < 'completed'`)
      return row?.count === 0
    }
    await until(queueIsEmpty, { what: 'the queue to be empty', timeoutMs: 120_000 })
    const [unsent] = await world.sql(
      `
      SELECT $1 - count(*) FILTER (WHERE status = 'SENT')::int AS count FROM notifications.notification_log`,
      [mailCount],
    )
    const addresses = recipients.map(emailOf)
    const mails = [...sink.mails.values()]
    return {
      lost: addresses.filter((address) => !sink.mails.has(address) && !sink.refused.has(address)).length,
      unsent: unsent?.count,
      underOtherKeys: mails.filter((ids) => new Set(ids).size > 1).length,
      repeated: mails.reduce((sum, ids) => sum + ids.length - new Set(ids).size, 0),
      refused: sink.refused.size,
      hung: sink.hungCount(),
      kills,
    }
  } finally {
    await service.stop()
    await relay.kill()
    await sink.stop()
    await world.close()
  }
}

/** Resolves once the process says that it is ready. */
async function startProcess(file: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [file], {
    env: { ...EXECUTABLE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`))),
  ])
  return {
    kill: async () => {
      process.off('exit', killWithParent)
      child.kill('SIGKILL')
      await exited
    },
  }
}
