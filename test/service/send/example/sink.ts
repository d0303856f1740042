import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { listen } from '../../../stack/listen.ts'
import { createRandom } from '../../../stack/random.ts'

export interface Sink {
  readonly port: number
  /** The Message-ID of each mail that was taken, by recipient. */
  readonly mails: ReadonlyMap<string, readonly string[]>
  /** Recipients that do not exist. */
  readonly refused: ReadonlySet<string>
  /** Mails that it never answered, some of which it took. */
  readonly hungCount: () => number
  stop(): Promise<void>
}

/** A mail server that takes `delayMs` for each mail, refuses 1 recipient in 50, and hangs on 1 mail in 100. */
export async function startSink(seed: number, delayMs: number): Promise<Sink> {
  const random = createRandom(seed)
  const mails = new Map<string, string[]>()
  const known = new Set<string>()
  const refused = new Set<string>()
  let hungCount = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    closeTimeout: 100,
    onRcptTo: ({ address }, _session, callback) => {
      if (!known.has(address) && random.chance(0.02)) refused.add(address)
      known.add(address)
      callback(
        refused.has(address) ? Object.assign(new Error('no such mailbox'), { responseCode: 550 }) : null,
      )
    },
    onData: async (stream, { envelope: { rcptTo } }, callback) => {
      const chunks = await stream.toArray().catch(() => null)
      // The relay was killed.
      if (chunks === null) return
      const source = Buffer.concat(chunks).toString()
      const messageId = /^Message-ID: (.*)$/im.exec(source)?.[1]?.trim() ?? 'none'
      const { address = '' } = rcptTo[0] ?? {}
      await sleep(delayMs)
      const isHung = random.chance(0.01)
      if (isHung) hungCount++
      if (!isHung || random.chance(0.5)) mails.set(address, [...(mails.get(address) ?? []), messageId])
      if (!isHung) callback(null)
    },
  })
  server.on('error', () => {})
  return {
    port: await listen(server.server),
    mails,
    refused,
    hungCount: () => hungCount,
    stop: () => new Promise((stopped) => server.close(stopped)),
  }
}
