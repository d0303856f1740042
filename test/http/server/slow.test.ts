import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { served } from '../fixture.ts'

/** Node cuts off after 60 s by default. */
const CUT_OFF_MS_MAX = 50_000

const { port } = await served(t)
t.jobs = 4

/** Sends this text, then one byte ten times a second; returns everything received until the server closed. */
async function dribble(start: string): Promise<{ answer: string; elapsedMs: number }> {
  const begun = performance.now()
  const socket = connect(port, '127.0.0.1')
  socket.write(start)
  const timer = setInterval(() => socket.write('x'), 100)
  socket.once('close', () => clearInterval(timer))
  socket.once('end', () => clearInterval(timer))
  const answer = await text(socket)
  return { answer, elapsedMs: performance.now() - begun }
}

t.test('headers that never end get a 408', async (t) => {
  const { answer, elapsedMs } = await dribble('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  t.match(answer, /^HTTP\/1\.1 408 /)
  t.match(answer, 'application/problem+json')
  t.ok(elapsedMs < CUT_OFF_MS_MAX, `${Math.round(elapsedMs)} ms`)
})

t.test('a body that never ends gets a 408', async (t) => {
  const head =
    'PUT /preferences/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n'
  const { answer, elapsedMs } = await dribble(head)
  t.match(answer, /^HTTP\/1\.1 408 /)
  t.match(answer, 'application/problem+json')
  t.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, 'and nothing after it')
  t.ok(elapsedMs < CUT_OFF_MS_MAX, `${Math.round(elapsedMs)} ms`)
})
