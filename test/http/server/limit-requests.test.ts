import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '../../stack/until.ts'
import { dependencies, served } from '../fixture.ts'

/** A server for two requests at a time, whose lists wait until they are released. */
async function started(t: Test) {
  const under = { way: 0, gone: 0 }
  const go = Promise.withResolvers<void>()
  const { all } = dependencies()
  const { url, port } = await served(t, {
    ...all,
    requestCountMax: 2,
    logEntries: {
      ...all.logEntries,
      list: async (filter, page, signal) => {
        under.way++
        signal.addEventListener('abort', () => under.gone++)
        await go.promise
        return all.logEntries.list(filter, page, signal)
      },
    },
  })
  return { url, port, under, go: go.resolve }
}

t.test('a list beyond the limit is refused at once; probes and opt-outs never are', async (t) => {
  const { url, under, go } = await started(t)
  const lists = [fetch(`${url}/log/list`), fetch(`${url}/log/list`)]
  await until(() => under.way === 2, { what: 'two lists to be under way' })

  const refused = await fetch(`${url}/log/list`)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), {
    detail: 'More than 2 requests of this kind are in progress. Try again later.',
  })
  for (const path of ['/healthz', '/readyz']) t.equal((await fetch(`${url}${path}`)).status, 200, path)
  const optOut = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${url}/preferences/party-1`, optOut)).status, 200)

  go()
  for (const list of lists) t.equal((await list).status, 200)
  t.equal((await fetch(`${url}/log/list`)).status, 200, 'those before it are done')
})

t.test('a list ends when its client disconnects, and frees its place', async (t) => {
  const { url, port, under, go } = await started(t)
  const clients = [1, 2].map(() => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /log/list HTTP/1.1\r\nHost: x\r\n\r\n')
    return socket
  })
  await until(() => under.way === 2, { what: 'two lists to be under way' })
  for (const client of clients) {
    client.destroy()
    await once(client, 'close')
  }
  await until(() => under.gone === 2, { what: 'the lists to be told' })
  go()
  t.equal((await fetch(`${url}/log/list`)).status, 200)
})

// A connection sends answers in the order of its requests: a waiting or unread answer delays those behind it.
t.test('answers that cannot be sent yet take no place from other parties', async (t) => {
  const ready = Promise.withResolvers<null>()
  const { all, stored } = dependencies({ requestCountMax: 2, readiness: () => ready.promise })
  const { url, port } = await served(t, all)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const head = 'HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n'
  const puts = ['slow-1', 'slow-2'].map((party) => `PUT /preferences/${party} ${head}{}`)
  socket.write(`GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n${puts.join('')}`)
  await until(() => stored.size === 2, { what: 'both to be stored' })

  const optOut = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${url}/preferences/party-1`, optOut)).status, 200)
  ready.resolve(null)
})
