import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type { SslFile, SslMode } from '../../config/parsers.ts'

/** In the order in which they are read below. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const satisfies readonly SslFile[]

export interface Connection {
  /** Without what it says about TLS, which the drivers understand otherwise than libpq, and each in its own way. */
  readonly url: string
  readonly ssl: ConnectionOptions | false
  /** Null: the password is in the URL, if there is one. */
  readonly passwordFile: string | null
}

/**
 * Takes what a database URL says about TLS as libpq does: `require` encrypts and trusts any server, unless
 * `sslrootcert` is given; `verify-ca` wants a certificate of that authority; `verify-full` wants it to be the host's,
 * too. Without `sslrootcert` the authorities that Node knows are good. Throws where a file cannot be read.
 */
export function connectionOf(databaseUrl: string): Connection {
  const url = new URL(databaseUrl)
  const mode = (url.searchParams.get('sslmode') ?? 'disable') as SslMode
  const [ca, cert, key] = FILES.map((name) => contentOf(name, url.searchParams.get(name)))
  const passwordFile = url.searchParams.get('passwordfile')
  for (const name of ['sslmode', 'passwordfile', 'target_session_attrs', ...FILES])
    url.searchParams.delete(name)
  if (mode === 'disable') return { url: url.href, ssl: false, passwordFile }
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
  const verified = mode !== 'require' || ca !== undefined
  return {
    url: url.href,
    passwordFile,
    ssl: {
      ...files,
      rejectUnauthorized: verified,
      ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    },
  }
}

function contentOf(name: string, path: string | null): string | undefined {
  if (path === null) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`the file of ${name} in DATABASE_URL is not readable (${code}): ${path}`, { cause })
  }
}
