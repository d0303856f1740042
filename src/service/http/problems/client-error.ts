import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { whenAnswered } from '../server/pipelining.ts'
import { buildBody, PROBLEMS, type ProblemCode } from './problem.ts'

const CODES: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
}

const answered = new WeakMap<Socket, IncomingMessage>()

/** Remembers the request that a connection answered last: the rest of its body may still be arriving. */
export function noteAnswered(request: IncomingMessage): void {
  answered.set(request.socket, request)
}

/** Answers an invalid or too slow HTTP request with a problem, behind the answers of those before it, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  whenAnswered(socket, () => refuse(error, socket))
}

function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  // No second response may follow one that has begun, or that was complete before its request.
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null }
  const isAnswered = answer?.headersSent || answered.get(socket)?.complete === false
  if (socket.writable && error.code !== 'ECONNRESET' && !isAnswered) {
    const code = CODES[error.code ?? ''] ?? 'invalid-request'
    const { status } = PROBLEMS[code]
    const body = JSON.stringify(buildBody({ code, detail: undefined, errors: undefined }))
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}
