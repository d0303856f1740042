import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

export function isNginxInstalled(): Promise<boolean> {
  return promisify(execFile)('nginx', ['-v']).then(
    () => true,
    () => false,
  )
}

/** Starts nginx in front of a server on this machine. It closes each connection after so many requests. */
export async function startNginx(backendPort: number, keepAliveRequests: number) {
  const directory = await mkdtemp(join(tmpdir(), 'notifications-proxy-'))
  const file = join(directory, 'config')
  const port = await freePort()
  await writeFile(file, nginxConfig(port, backendPort, keepAliveRequests))
  const proxy = spawn('nginx', ['-p', directory, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  while (!(await isListening(port))) await sleep(5)
  return {
    url: `http://127.0.0.1:${port}`,
    close: async (): Promise<void> => {
      proxy.kill('SIGTERM')
      await once(proxy, 'exit')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return await new Promise((resolve) => {
    socket.once('connect', () => resolve(socket.destroy() !== null))
    socket.once('error', () => resolve(false))
  })
}

function nginxConfig(port: number, backendPort: number, keepAliveRequests: number): string {
  return `daemon off; pid nginx.pid; error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off; keepalive_requests ${keepAliveRequests};
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream backend { server 127.0.0.1:${backendPort}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
}
