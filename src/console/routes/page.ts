import { readdirSync, readFileSync } from 'node:fs'
import type { HttpApp } from '../../service/http/server/base.ts'
import type { SignIn } from '../../service/model/sign-in.ts'

/** The console's page and assets, as built by `make build`. */
export interface ConsolePage {
  readonly html: string
  /** By name, which changes with the file's content. */
  readonly assets: ReadonlyMap<string, { readonly type: string; readonly content: Buffer }>
}

const FOLDER = new URL('../../generated/console/', import.meta.url)
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Allows only this origin and nothing inline, so that a token can be sent only here and to its provider. */
function contentSecurityPolicy(signIn: SignIn | null): string {
  const provider = signIn === null ? '' : ` ${new URL(signIn.issuer).origin}`
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'${provider}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
  )
}

/** Reads the page into memory. Throws with the remedy if it was not built. */
export function readConsolePage(folder = FOLDER): ConsolePage {
  try {
    const names = readdirSync(folder).filter((name) => name !== 'index.html')
    return {
      html: readFileSync(new URL('index.html', folder), 'utf8'),
      assets: new Map(
        names.map((name) => {
          const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
          return [name, { type, content: readFileSync(new URL(name, folder)) }]
        }),
      ),
    }
  } catch (cause) {
    throw new Error('the console is missing or not readable: run `make build`', { cause })
  }
}

const config = { access: 'open', returnsPersonalData: false } as const

/** `/console`, its assets, and how to sign in: no personal data, no token needed. */
export function consolePage(app: HttpApp, { html, assets }: ConsolePage, signIn: SignIn | null): void {
  const policy = contentSecurityPolicy(signIn)
  app.addHook('onRequest', async (_, reply) => {
    reply.headers({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' })
  })
  app.get('/console', { config }, async (_, reply) =>
    reply
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(html as never),
  )
  app.get('/console/sign-in', { config }, async () => ({ signIn }) as never)
  app.get('/console/', { config }, async (_, reply) => reply.redirect('../console', 308))
  for (const [name, { type, content }] of assets) {
    app.get(`/console/${name}`, { config }, async (_, reply) =>
      reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .type(type)
        .send(content as never),
    )
  }
}
