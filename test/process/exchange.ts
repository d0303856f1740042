import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Answer } from '../service/http/documented.ts'

export interface RawRequest {
  readonly method: string
  /** Sent as it is: `fetch` would tidy it up. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** One request to the service at `url`. */
export function exchange(
  url: string,
  { method, path, headers = {}, body }: RawRequest,
): Promise<Answer & { readonly headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const { hostname, port } = new URL(url)
    const sent = request(
      { agent, hostname, port, method, path, headers: { ...length, ...headers } },
      (response) => {
        text(response).then(
          (received) =>
            resolve({
              status: response.statusCode ?? 0,
              contentType: response.headers['content-type'],
              headers: response.headers,
              body: received,
            }),
          reject,
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
