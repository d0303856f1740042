import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

/** A reverse proxy that may be installed on the machine. */
export interface ProxyKind {
  readonly name: string
  readonly program: string
  readonly configOf: (port: number, backendPort: number) => string
  readonly argumentsOf: (directory: string, file: string) => readonly string[]
  readonly reloadSignal: NodeJS.Signals
}

export interface Proxy {
  readonly url: string
  /** Connections are closed once their request is answered; new ones are accepted all the time. */
  reload(): void
  /** For a moment, connections are refused. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Closes each connection after so many requests. */
export function nginx(keepAliveRequests: number): ProxyKind {
  return {
    name: `nginx, keepalive_requests ${keepAliveRequests}`,
    program: 'nginx',
    configOf: (port, backendPort) => nginxConfig(port, backendPort, keepAliveRequests),
    argumentsOf: (directory, file) => ['-p', directory, '-c', file],
    reloadSignal: 'SIGHUP',
  }
}

export const HAPROXY: ProxyKind = {
  name: 'haproxy',
  program: 'haproxy',
  configOf: haproxyConfig,
  argumentsOf: (_, file) => ['-W', '-q', '-f', file],
  reloadSignal: 'SIGUSR2',
}

export function isInstalled({ program }: ProxyKind): Promise<boolean> {
  return promisify(execFile)(program, ['-v']).then(
    () => true,
    () => false,
  )
}

/** Starts a proxy in front of a server on this machine. */
export async function startProxy(kind: ProxyKind, backendPort: number): Promise<Proxy> {
  const directory = await mkdtemp(join(tmpdir(), 'notifications-proxy-'))
  const file = join(directory, 'config')
  const port = await freePort()
  await writeFile(file, kind.configOf(port, backendPort))
  let running = await start()

  async function start(): Promise<ChildProcess> {
    const proxy = spawn(kind.program, kind.argumentsOf(directory, file), {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    while (!(await isListening(port))) await sleep(5)
    return proxy
  }

  async function stop(): Promise<void> {
    running.kill('SIGTERM')
    await once(running, 'exit')
  }

  return {
    url: `http://127.0.0.1:${port}`,
    reload: () => void running.kill(kind.reloadSignal),
    restart: async () => {
      await stop()
      running = await start()
    },
    close: async () => {
      await stop()
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

function haproxyConfig(port: number, backendPort: number): string {
  return `global
  maxconn 512
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server one 127.0.0.1:${backendPort}
`
}
