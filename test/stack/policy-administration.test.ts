import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startPolicyAdministration } from './policy-administration.ts'

const server = await startPolicyAdministration()
t.teardown(() => server.stop())

/** Far more than an answer takes, but for who is not to have one. */
const ANSWER_TIMEOUT_MS = 10_000

async function get(
  partyLocator: string,
  url = server.url,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<{ status: number; body: string }> {
  const response = await fetch(`${url}/internal/parties/${encodeURIComponent(partyLocator)}`, {
    signal: AbortSignal.timeout(timeoutMs),
  })
  return { status: response.status, body: await response.text() }
}

for (const [partyLocator, status, body] of [
  ['party-1', 200, { email: 'party-1@example.com', phone: '+44 20 7946 0000' }],
  ['no-email-1', 200, { email: null, phone: '+44 20 7946 0000' }],
  ['no-phone-1', 200, { email: 'no-phone-1@example.com', phone: null }],
  ['neither-1', 200, { email: null, phone: null }],
  ['slow-1', 200, { email: 'slow-1@example.com', phone: '+44 20 7946 0000' }],
  ['unknown-1', 404, { error: 'not found' }],
  ['anything else', 404, { error: 'not found' }],
  ['error-1', 500, { error: 'internal error' }],
] as const) {
  t.test(`answers ${status} for ${partyLocator}`, async (t) => {
    const answer = await get(partyLocator)
    t.equal(answer.status, status)
    t.strictSame(JSON.parse(answer.body), body)
  })
}

t.test('answers broken JSON for malformed-1', async (t) => {
  const { status, body } = await get('malformed-1')
  t.equal(status, 200)
  t.throws(() => JSON.parse(body))
})

t.test('never answers for hanging-1', async (t) => {
  await t.rejects(get('hanging-1', server.url, 500), { name: 'TimeoutError' })
})

t.test('a party that was set overrides its prefix, whatever characters its locator has', async (t) => {
  server.set('party-2', 'unknown')
  server.set('a/b ü', { email: 'a@example.com', phone: null })
  t.equal((await get('party-2')).status, 404)
  t.strictSame(JSON.parse((await get('a/b ü')).body), {
    email: 'a@example.com',
    phone: null,
  })
})

t.test('a mode holds for all parties until it is changed', async (t) => {
  t.teardown(() => server.mode('ok'))
  server.mode('down')
  t.equal((await get('party-1')).status, 503)
  server.mode('garbled')
  t.equal((await get('party-1')).body, '{"email":')
  server.mode('hang')
  await t.rejects(get('party-1', server.url, 500), { name: 'TimeoutError' })
  server.mode('ok')
  t.equal((await get('party-1')).status, 200)
})

t.test('counts requests and remembers the last paths, as they came', async (t) => {
  const before = server.requests.count
  await get('a/b')
  t.equal(server.requests.count, before + 1)
  t.equal(server.requests.paths.at(-1), '/internal/parties/a%2Fb')
})

t.test('runs in a process of its own, which ends with its parent', async (t) => {
  const child: ChildProcess = fork(fileURLToPath(new URL('./policy-administration.ts', import.meta.url)), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [],
  })
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  t.equal((await get('party-1', String(line).trim())).status, 200)
  const ended = once(child, 'exit')
  child.disconnect()
  t.strictSame(await ended, [0, null])
})
