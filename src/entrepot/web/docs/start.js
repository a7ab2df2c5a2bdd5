SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // The validator's badge would ask a server on the internet.
  validatorUrl: null,
});
