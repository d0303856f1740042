import { request as ask, createServer } from 'node:http'
import { connect } from 'node:net'
import { close, listen } from './listen.ts'

/** A proxy as companies have for what leaves their network: CONNECT for https://, whole URLs for http://. All names lead to this machine. */
export async function startForwardProxy() {
  const asked: string[] = []
  const tunnels = new Set<{ destroy(): void }>()
  let refuses = false
  const server = createServer((request, response) => {
    const { host, hostname, port, pathname, search } = new URL(request.url ?? '')
    asked.push(`${request.method} ${host}`)
    if (refuses) return void response.writeHead(403).end()
    const { method, headers } = request
    const path = pathname + search
    const forwarded = ask({
      host: hostname === 'localhost' ? hostname : '127.0.0.1',
      port,
      path,
      method,
      headers,
    })
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  server.on('connect', ({ url = '' }, socket) => {
    asked.push(`CONNECT ${url}`)
    if (refuses) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const tunnel = connect(Number(url.split(':').at(-1)), 'localhost', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      tunnel.pipe(socket)
      socket.pipe(tunnel)
    })
    for (const end of [tunnel, socket]) {
      tunnels.add(end)
      end.on('error', () => {})
    }
    tunnel.on('close', () => socket.destroy())
    socket.on('close', () => tunnel.destroy())
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    /** Method and host of each request. */
    asked,
    /** Answers everything with 403 from now on. */
    refuse: () => {
      refuses = true
      for (const tunnel of tunnels) tunnel.destroy()
    },
    stop: async () => {
      for (const tunnel of tunnels) tunnel.destroy()
      await close(server)
    },
  }
}
