import type { Config } from '../config/config.ts'
import type { Credential } from '../contacts/connection.ts'
import { createAccessToken } from '../oauth/access-token.ts'
import { createFileSecret } from '../oauth/file-secret.ts'

/** The header of look-ups, by an access token or from a file; null without a credential. */
export function createLookUpCredential({
  header,
  tokenClient,
}: Config['policyAdministration']): Credential | null {
  const monotonicMs = () => performance.now()
  if (header !== null) {
    const { name, file } = header
    return {
      secret: createFileSecret(file, 'POLICY_ADMIN_HEADER_FILE', monotonicMs),
      headers: (value) => ({ [name]: value }),
    }
  }
  return (
    tokenClient && {
      secret: createAccessToken(tokenClient, 'POLICY_ADMIN_', monotonicMs),
      headers: (token) => ({ authorization: `Bearer ${token}` }),
    }
  )
}
