import { defineConfig } from 'vite';

declare const process: { env: Record<string, string | undefined> };

// All addresses in the built files are relative, so that the dashboard works below any path of a proxy. The base is the
// <base> element of index.html, which the server fills in for the depth of the requested path.
export default defineConfig({
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2021',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    sourcemap: false,
  },
  server: {
    host: '127.0.0.1',
    proxy: Object.fromEntries(
      ['/v1', '/openapi.json', '/healthz', '/readyz', '/metrics'].map((path) => [
        path,
        process.env.HAPAX_SERVER ?? 'http://127.0.0.1:7171',
      ]),
    ),
  },
});
