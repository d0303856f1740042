import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { freePort } from './free-port.ts'
import { close } from './listen.ts'

export const AUDIENCE = 'notifications-service'
export const ADMIN_SCOPE = 'notifications:admin'
export const OPERATOR_SCOPE = 'notifications:operator'
/** The client of the client credentials grant. */
export const CLIENT = { id: 'console', secret: 'a-secret-of-the-tests' }
/** The client by which people sign in, with a browser. */
export const PUBLIC_CLIENT = {
  client_id: 'the-console',
  token_endpoint_auth_method: 'none' as const,
  grant_types: ['authorization_code'],
  response_types: ['code' as const],
  application_type: 'native' as const,
}
/** Of the people who sign in. */
const ROLES: Readonly<Record<string, readonly string[]>> = { ada: [ADMIN_SCOPE, OPERATOR_SCOPE] }
const RESOURCE = 'https://notifications.example'
const GRANT = { grant_type: 'client_credentials', resource: RESOURCE }

/** A private key and its public half. */
export type SigningKey = Awaited<ReturnType<typeof newSigningKey>>
export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>

/** Starts a real OpenID provider on loopback, with a fresh RSA key. Its tokens have these claims, too. */
export async function startIdentityProvider(extraClaims: JWTPayload = {}, consoleUrl: string | null = null) {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const keySetUrl = `${issuer}/jwks`
  let key = await newSigningKey()
  let up = await providerOf(issuer, key, extraClaims, consoleUrl)
  let handle: RequestListener | null = null
  let keySetRequestCount = 0
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/jwks')) keySetRequestCount++
    const answer = handle ?? up
    answer(request, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    issuer,
    keySetUrl,
    /** The number of requests for its key set. */
    keySetRequestCount: () => keySetRequestCount,
    /** The current signing key. */
    key: () => key,
    /** A token as clients get them, by the client credentials grant. */
    token: async (scope?: string): Promise<string> => {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
        body: new URLSearchParams({ ...GRANT, ...(scope === undefined ? {} : { scope }) }),
      })
      const { access_token } = (await response.json()) as { access_token?: string }
      if (access_token === undefined) throw new Error(`no token: status ${response.status}`)
      return access_token
    },
    /** A token signed with its key; the given claims and header replace those of a valid one. */
    forge: (
      claims: JWTPayload = {},
      header: Partial<JWTHeaderParameters> = {},
      privateKey = key.privateKey,
    ): Promise<string> => {
      const now = Math.floor(Date.now() / 1000)
      const good = {
        iss: issuer,
        aud: AUDIENCE,
        sub: CLIENT.id,
        iat: now,
        exp: now + 600,
        scope: ADMIN_SCOPE,
      }
      return new SignJWT({ ...good, ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.kid, ...header })
        .sign(privateKey)
    },
    /** Replaces the signing key, in the key set too. */
    rotate: async (): Promise<void> => {
      key = await newSigningKey()
      up = await providerOf(issuer, key, extraClaims, consoleUrl)
    },
    /** `up`, or what every request gets instead: a 500, no answer at all, or this handler's. */
    be: (state: 'up' | 'broken' | 'hanging' | RequestListener): void => {
      if (typeof state === 'function') handle = state
      else if (state === 'up') handle = null
      else handle = (_, response) => void (state === 'broken' && response.writeHead(500).end())
    },
    stop: () => close(server),
  }
}

/** An RSA key of its own id. */
export async function newSigningKey() {
  const kid = crypto.randomUUID()
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const privateJwk = { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'RS256' }
  return { kid, privateKey, publicKey, privateJwk }
}

async function providerOf(
  issuer: string,
  { privateJwk }: SigningKey,
  extraClaims: JWTPayload,
  consoleUrl: string | null,
): Promise<RequestListener> {
  // Takes a third of a second to load, and many tests need only the constants of this file.
  const { default: Provider } = await import('oidc-provider')
  const provider = new Provider(issuer, {
    jwks: { keys: [privateJwk as never] },
    ttl: { ClientCredentials: 600 },
    extraTokenClaims: (_, token) => ({
      ...extraClaims,
      ...('accountId' in token && { roles: ROLES[token.accountId] ?? [] }),
    }),
    clientBasedCORS: () => true,
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      },
      ...(consoleUrl === null ? [] : [{ ...PUBLIC_CLIENT, redirect_uris: [consoleUrl] }]),
    ],
    features: {
      clientCredentials: { enabled: true },
      // Takes any name and password.
      devInteractions: { enabled: consoleUrl !== null },
      resourceIndicators: {
        enabled: true,
        // For clients that ask for a token of no particular resource.
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          ...{ scope: ADMIN_SCOPE, audience: AUDIENCE },
          ...{ accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } },
        }),
      },
    },
  })
  return provider.callback()
}
