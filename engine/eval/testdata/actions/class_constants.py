class Config:
    MAX_RETRIES = 3
    BASE_URL = "https://api.example.com"
    TIMEOUT = 2.5

for i in range(Config.MAX_RETRIES):
    print(f"{Config.BASE_URL}/v{i + 1} timeout={Config.TIMEOUT * (i + 1)}")
