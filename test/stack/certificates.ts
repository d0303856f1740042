import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A certificate of `localhost` (and of no address), and the authority that signed it. */
export interface Certificates {
  /** Paths. */
  readonly ca: string
  /** Another authority, which signed nothing. */
  readonly otherCa: string
  /** PEM texts. */
  readonly cert: string
  readonly key: string
  remove(): Promise<void>
}

const openssl = (args: string[]) => promisify(execFile)('openssl', args)
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** Creates new certificates, valid for one day. */
export async function makeCertificates(): Promise<Certificates> {
  const dir = await mkdtemp(join(tmpdir(), 'notifications-certificates-'))
  const path = (name: string) => join(dir, name)
  const authority = (name: string) =>
    openssl([
      ...['req', '-x509', ...NEW_KEY, '-days', '1', '-subj', `/CN=${name}`],
      ...['-addext', 'keyUsage=critical,keyCertSign'],
      ...['-keyout', path(`${name}.key`), '-out', path(`${name}.pem`)],
    ])
  await Promise.all([authority('ca'), authority('other-ca')])
  await openssl([
    'req',
    ...NEW_KEY,
    ...['-subj', '/CN=server', '-keyout', path('server.key'), '-out', path('server.csr')],
  ])
  await writeFile(path('extensions'), 'subjectAltName=DNS:localhost\n')
  await openssl([
    ...['x509', '-req', '-in', path('server.csr'), '-days', '1', '-extfile', path('extensions')],
    ...['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial', '-out', path('server.pem')],
  ])
  return {
    ca: path('ca.pem'),
    otherCa: path('other-ca.pem'),
    cert: await readFile(path('server.pem'), 'utf8'),
    key: await readFile(path('server.key'), 'utf8'),
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
