/** What `sslmode` of a database URL can be here, as libpq means it; without it there is no TLS. */
export const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

/** The parameters of a database URL that name a file. */
export const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const
export type SslFile = (typeof SSL_FILES)[number]
