import { defineConfig } from "@hey-api/openapi-ts";

export default defineConfig({
  input: "../../meka/schema/openapi.json",
  output: { path: "generated/sdk", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  logs: { file: false },
});
