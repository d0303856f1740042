// Answers every request with an empty list, and tells its parent where it listens.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[],"nextCursor":null}')
})
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on('disconnect', () => process.exit())
